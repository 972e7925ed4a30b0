bid: `price` BIGINT, `dateTime` BIGINT;
auction upsert: `itemName` STRING, `category` BIGINT;
`start` BIGINT, `value` ARRAY<STRING>;
SELECT bid.`key`, bid.`dateTime`, ARRAY[CAST(price AS STRING), itemName]
FROM bid JOIN auction FOR SYSTEM_TIME AS OF bid.`time` ON bid.`key` = auction.`key`
WHERE category = 10
