`dateTime` BIGINT, `price` DOUBLE;
SELECT `key`, CAST(JSON_VALUE(`value`, '$.dateTime') AS BIGINT),
    CAST(JSON_VALUE(`value`, '$.price') AS DOUBLE) * 0.908
FROM input
