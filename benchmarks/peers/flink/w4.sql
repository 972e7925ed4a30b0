`start` BIGINT, `end` BIGINT, `value` BIGINT;
SELECT `key`, first_ms, last_ms, clicks FROM (
    SELECT `key`, COUNT(*) AS clicks,
        MIN(1000 * UNIX_TIMESTAMP(CAST(`time` AS STRING)) + EXTRACT(MILLISECOND FROM `time`)) AS first_ms,
        MAX(1000 * UNIX_TIMESTAMP(CAST(`time` AS STRING)) + EXTRACT(MILLISECOND FROM `time`)) AS last_ms
    FROM SESSION(TABLE input PARTITION BY `key`, DESCRIPTOR(`time`), INTERVAL '30.001' SECOND)
    GROUP BY `key`, window_start, window_end
)
