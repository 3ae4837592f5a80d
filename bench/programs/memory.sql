-- An in-memory database at work; @ROWS@ is put in by the bench.
PRAGMA journal_mode = off;
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, city TEXT, born INTEGER);
CREATE TABLE visit (id INTEGER PRIMARY KEY, person INTEGER, place TEXT, spent REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @ROWS@)
INSERT INTO person SELECT i, printf('person-%d-%s', i, hex(i * 7919 % 65537)), 'city ' || (i * 31 % 97), 1930 + i * 17 % 80 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3 * @ROWS@)
INSERT INTO visit SELECT i, 1 + i * 7 % @ROWS@, substr('park museum station market harbour', 1 + i % 20, 9), i % 1009 / 8.0 FROM n;
CREATE INDEX person_name ON person(name);
CREATE INDEX visit_person ON visit(person, spent);
CREATE TRIGGER visited AFTER UPDATE ON visit BEGIN UPDATE person SET born = born + 1 WHERE id = new.person; END;
SELECT city, count(*), group_concat(substr(name, -4), ';') FROM person GROUP BY city ORDER BY 2 DESC LIMIT 5;
SELECT p.city, v.place, sum(v.spent), max(upper(p.name) || lower(v.place)) FROM visit v JOIN person p ON p.id = v.person GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5;
UPDATE visit SET place = replace(place, 'a', 'aa') || quote(spent) WHERE id % 3 = 0;
SELECT count(DISTINCT place), sum(length(place)), total(spent) FROM visit;
SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT id, name FROM person WHERE name LIKE '%-%A%' ORDER BY name LIMIT 2000);
DELETE FROM person WHERE id % 5 = 0;
SELECT count(*), sum(born) FROM person WHERE name GLOB '*[A-F]';
