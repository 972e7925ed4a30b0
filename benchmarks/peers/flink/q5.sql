`value` BYTES;
`start` BIGINT, `value` ARRAY<BIGINT>;
SELECT '', 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT),
    ARRAY[bids, auction]
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end ORDER BY bids DESC, auction DESC) AS place
    FROM (
        SELECT TRY_CAST(`key` AS BIGINT) AS auction, window_start, window_end, COUNT(*) AS bids
        FROM HOP(TABLE input, DESCRIPTOR(`time`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
        GROUP BY `key`, window_start, window_end
    )
) WHERE place = 1 AND auction IS NOT NULL
