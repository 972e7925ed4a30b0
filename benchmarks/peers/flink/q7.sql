`auction` BIGINT, `bidder` BIGINT, `price` BIGINT;
`start` BIGINT, `value` ARRAY<BIGINT>;
SELECT '', 1000 * CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS BIGINT),
    ARRAY[price, auction, bidder]
FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end
        ORDER BY price DESC, auction DESC, bidder DESC) AS place
    FROM TUMBLE(TABLE input, DESCRIPTOR(`time`), INTERVAL '10' SECOND)
) WHERE place = 1
