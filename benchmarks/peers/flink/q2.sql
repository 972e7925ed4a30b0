`auction` BIGINT, `price` BIGINT, `dateTime` BIGINT;
`dateTime` BIGINT, `price` BIGINT;
SELECT `key`, `dateTime`, price FROM input WHERE MOD(auction, 123) = 0
