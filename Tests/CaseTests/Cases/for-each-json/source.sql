INSERT INTO ZTRACK (Z_PK, Z_ENT, Z_OPT, ZNAME, ZJSON) VALUES
    (1, 1, 1, 'one', '{"artists": [{"name": "Ann", "imageURL": "http://a/1", "plays": 3}, {"name": "B\u00f6b", "plays": null}]}'),
    (2, 1, 1, 'two', '{"artists": []}'), (3, 1, 1, 'three', NULL), (4, 1, 1, 'four', '{"artists": null}'),
    (5, 1, 1, 'five', 'no json'), (6, 1, 1, 'six', '{"artists": [{"name": "Ann", "imageURL": "http://a/2"}, {"name": "Cy"}, {"name": "Ann"}]}'),
    (7, 1, 1, 'seven', '{"artists": [{"imageURL": "http://nobody"}, {}]}');
UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_NAME = 'Track';
