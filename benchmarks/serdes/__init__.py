"""Cost of serdes, compared with Confluent's serializers and deserializers."""
