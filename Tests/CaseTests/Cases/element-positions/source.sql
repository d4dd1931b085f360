INSERT INTO ZLIST (Z_PK, Z_ENT, Z_OPT, ZJSON) VALUES (1, 2, 1, '{"steps":[{"text":"a"},{"text":"b"},{}]}'), (2, 2, 1, '{"steps":[]}'), (3, 2, 1, '{"steps":[{"text":"c"}]}');
INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZLIST, Z_FOK_LIST) VALUES (1, 1, 1, 1, 1, 4096), (2, 1, 1, 2, 1, 2048), (3, 1, 1, 3, 2, 1999), (4, 1, 1, 4, NULL, NULL), (5, 1, 1, 2, 1, 3000), (6, 1, 1, 6, 1, 3000);
INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZT) VALUES (1, 3, 1, 'a'), (2, 3, 1, 'b'), (4, 3, 1, 'none');
INSERT INTO Z_1TAGS (Z_1ITEMS, Z_3TAGS, Z_FOK_1ITEMS) VALUES (1, 1, 3072), (2, 1, 2048), (5, 2, 2048), (1, 2, 2500), (6, 2, 1500), (3, 2, 2500);
UPDATE Z_PRIMARYKEY SET Z_MAX = 6 WHERE Z_NAME = 'Item';
UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'List';
UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Tag';
