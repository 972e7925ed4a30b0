`value` BYTES;
`value` BIGINT, PRIMARY KEY (`key`) NOT ENFORCED;
SELECT `key`, COUNT(*) FROM input GROUP BY `key`
