`start` BIGINT, `value` BIGINT;
SELECT `key`, UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000,
    SUM(CAST(JSON_VALUE(`value`, '$.amount') AS BIGINT))
FROM HOP(TABLE input, DESCRIPTOR(`time`), INTERVAL '10' SECOND, INTERVAL '60' SECOND)
GROUP BY `key`, window_start, window_end
