"""Tests of the object store on S3."""
