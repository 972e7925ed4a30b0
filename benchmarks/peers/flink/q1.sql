`price` DOUBLE, `dateTime` BIGINT;
`dateTime` BIGINT, `price` DOUBLE;
SELECT `key`, `dateTime`, price * 0.908 FROM input
