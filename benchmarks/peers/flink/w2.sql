-- upsert
`value` BIGINT;
SELECT `key`, COUNT(*) FROM input GROUP BY `key`
