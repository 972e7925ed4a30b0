"""What serdes cost, beside Confluent's own (de)serializers."""
