"""Tests of queues and exchanges, on a real RabbitMQ."""
