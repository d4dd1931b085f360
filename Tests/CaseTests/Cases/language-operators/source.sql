INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZWHEN, ZFLAG, ZOTHER, ZPATH, ZRATIO, ZSMALL, ZTEXT, ZUID, ZWHOLE, ZDATA, ZLINK, ZPARENT) VALUES
    (1, 1, 1, 526913666.5, 1, '42 apples', '/tmp/a.b/file.tar.gz', 0.5, 7, 'Zoë 𝄞', x'000102030405060708090a0b0c0d0e0f', 3, x'010203', 'https://example.org/a%20b?q=1', NULL),
    (2, 1, 9, 526913666, 0, '-1.5e2x', '/tmp', -0.0, 32767, 'Anna Maria Smith', NULL, 2147483648, x'', NULL, 1),
    (3, 1, 1, NULL, NULL, NULL, NULL, 1e300, NULL, NULL, NULL, NULL, NULL, NULL, 2),
    (4, 1, 1, -5.25, 1, 'plain', 'plain.', -2.75, 7, '', NULL, 7, NULL, 'x', 3),
    (5, 1, 1, 0, 0, '7', '/', 1, 1, 'harry', NULL, 10, x'ff', '', NULL);
UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_NAME = 'Thing';
