`dateTime` BIGINT, `price` BIGINT;
SELECT `key`, CAST(JSON_VALUE(`value`, '$.dateTime') AS BIGINT),
    CAST(JSON_VALUE(`value`, '$.price') AS BIGINT)
FROM input
WHERE MOD(CAST(JSON_VALUE(`value`, '$.auction') AS BIGINT), 123) = 0
