auction: `seller` BIGINT, `category` BIGINT;
person: `name` STRING, `city` STRING, `state` STRING;
`value` ARRAY<STRING>, PRIMARY KEY (`key`) NOT ENFORCED;
SELECT auction.`key`, ARRAY[name, city, state]
FROM auction JOIN person ON CAST(auction.seller AS STRING) = person.`key`
WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
