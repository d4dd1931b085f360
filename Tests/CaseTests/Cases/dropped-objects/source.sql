INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZAGE) VALUES (1, 2, 1, 10), (2, 2, 1, 20), (3, 2, 1, NULL), (4, 2, 1, 30);
INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZUSER) VALUES (1, 1, 1, 'abc', 1), (2, 1, 1, 'xyz', 2), (3, 1, 1, 'Abd', 3), (4, 1, 1, NULL, 4), (5, 1, 1, 'a', 4);
UPDATE Z_PRIMARYKEY SET Z_MAX = 5;
