INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZD, ZBIG, ZJSON, ZNEXT, ZPREVIOUS) VALUES
 (1, 1, 1, '12', '01.02.2020', 7, '[{"name":"a","n":1},{"name":"b","n":"x"},{"name":"b","n":2}]', 2, NULL),
 (2, 1, 1, 'n/a', '29.02.2020', 32768, NULL, 3, 1), (3, 1, 1, '', '31.02.2020', -5, '[{"name":"a","n":"y"},{"name":"c","n":70000}]', NULL, 2),
 (4, 1, 1, NULL, NULL, NULL, '[]', NULL, NULL), (5, 1, 1, '3000000000', '', -32769, NULL, 6, NULL),
 (6, 1, 1, '3000000000', '05.06.2021', 0, '[{"name":"d"}]', NULL, 5), (7, 1, 1, 'none', 'x', 1, NULL, NULL, NULL);
UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_NAME = 'Item';
