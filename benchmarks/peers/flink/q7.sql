`start` BIGINT, `value` ARRAY<BIGINT>;
SELECT '', UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000, ARRAY[price, auction, bidder] FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end
        ORDER BY price DESC, auction DESC, bidder DESC) AS place
    FROM (
        SELECT window_start, window_end,
            CAST(JSON_VALUE(`value`, '$.price') AS BIGINT) AS price,
            CAST(JSON_VALUE(`value`, '$.auction') AS BIGINT) AS auction,
            CAST(JSON_VALUE(`value`, '$.bidder') AS BIGINT) AS bidder
        FROM TUMBLE(TABLE input, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
    )
) WHERE place = 1
