package tql

import (
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// The paper's example and others, in their canonical form.
func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`select * from dataset`: `SELECT * FROM dataset`,
		`SELECT images[100:500, 100:500, 0:2] AS crop, NORMALIZE(boxes, [100, 100, 400, 400]) AS box
		 FROM dataset
		 WHERE IOU(boxes, "training/boxes") > 0.95
		 ORDER BY IOU(boxes, "training/boxes")
		 ARRANGE BY labels`: `SELECT images[100:500, 100:500, 0:2] AS crop, NORMALIZE(boxes, ARRAY[100, 100, 400, 400]) AS box FROM dataset ` +
			`WHERE IOU(boxes, "training/boxes") > 0.95 ORDER BY IOU(boxes, "training/boxes") ARRANGE BY labels`,
		`SELECT a -- the first
		 /* and no more */ FROM "s3://bucket/set"@v2 d`: `SELECT a FROM "s3://bucket/set"@v2 AS d`,
		`SELECT 1 FROM x AT 'main'`:                        `SELECT 1 FROM x@'main'`,
		`SELECT a FROM 's3://b/it''s' AT 'v2' AS d`:        `SELECT a FROM "s3://b/it's"@'v2' AS d`,
		`SELECT a FROM x JOIN 'mem://y' z USING (k)`:       `SELECT a FROM x INNER JOIN "mem://y" AS z USING (k)`,
		`SELECT 1 WHERE a = 1 OR b == 2 AND NOT c <> 3`:    `SELECT 1 WHERE a = 1 OR b = 2 AND NOT c != 3`,
		`SELECT 1 WHERE (a OR b) AND c`:                    `SELECT 1 WHERE (a OR b) AND c`,
		`SELECT -2 ^ 2, -(2 ^ 2), 2 ^ 3 ^ 2, 2 ^ (3 ^ 2)`:  `SELECT -2 ^ 2, -(2 ^ 2), 2 ^ 3 ^ 2, 2 ^ (3 ^ 2)`,
		`SELECT a - (b - c) - d, a || b + c`:               `SELECT a - (b - c) - d, a || b + c`,
		`SELECT - - 1, +-x`:                                `SELECT - -1, + -x`,
		`SELECT a NOT BETWEEN 1 AND 2 AND b IN (1, 2)`:     `SELECT a NOT BETWEEN 1 AND 2 AND b IN (1, 2)`,
		`SELECT a NOT IN ? AND b IN (?)`:                   `SELECT a NOT IN ? AND b IN (?)`,
		`SELECT a NOT IN ((SELECT b))`:                     `SELECT a NOT IN (SELECT b)`,
		`SELECT a IN ((SELECT b) UNION SELECT c)`:          `SELECT a IN ((SELECT b) UNION SELECT c)`,
		`SELECT (((SELECT 1)) + 1)`:                        `SELECT (SELECT 1) + 1`,
		`SELECT a = 1 IS NULL, a IS NOT NULL`:              `SELECT a = 1 IS NULL, a IS NOT NULL`,
		`SELECT x[0][-1], x[..., ::2], x[i:j+1], x['key']`: `SELECT x[0][-1], x[..., ::2], x[i:j + 1], x['key']`,
		`SELECT x[::]`: `SELECT x[:]`,
		`SELECT COUNT(*), count(distinct a), f()`:                                        `SELECT COUNT(*), COUNT(DISTINCT a), F()`,
		`SELECT ALL(a > 1), left(b, 2)`:                                                  `SELECT ALL(a > 1), LEFT(b, 2)`,
		`SELECT date '2024-01-02' + INTERVAL '1 day'`:                                    `SELECT DATE '2024-01-02' + INTERVAL '1 day'`,
		`SELECT EXTRACT(year FROM d), CAST(a AS Float32)`:                                `SELECT EXTRACT(year FROM d), CAST(a AS float32)`,
		`SELECT CASE a WHEN 1 THEN 'x' ELSE NULL END`:                                    `SELECT CASE a WHEN 1 THEN 'x' ELSE NULL END`,
		`SELECT 1.0, 1e400 < 2, 18446744073709551616`:                                    "",
		`SELECT 1.0, .5, 3., 18446744073709551616`:                                       `SELECT 1.0, 0.5, 3.0, 1.8446744073709552e+19`,
		`SELECT 'it''s', "a ""b"""`:                                                      `SELECT 'it''s', "a ""b"""`,
		`SELECT "select", "0a", date`:                                                    `SELECT "select", "0a", date`,
		`SELECT ?, ? LIMIT ?`:                                                            `SELECT ?, ? LIMIT ?`,
		`SELECT a LIMIT ALL OFFSET 5`:                                                    `SELECT a OFFSET 5`,
		`SELECT a OFFSET 5 LIMIT 3`:                                                      `SELECT a OFFSET 5 LIMIT 3`,
		`SELECT a OFFSET ? LIMIT ?`:                                                      `SELECT a OFFSET ? LIMIT ?`,
		`SELECT a EXPAND BY 1 ('x')`:                                                     `SELECT a EXPAND BY 1 ('x')`,
		`SELECT a EXPAND BY 2`:                                                           `SELECT a EXPAND BY 2`,
		`SELECT a EXPAND BY 2 3 OVERLAP FALSE`:                                           `SELECT a EXPAND BY 2 3 OVERLAP FALSE`,
		`SELECT a UNGROUP BY split`:                                                      `SELECT a UNGROUP BY SPLIT`,
		`SELECT a UNGROUP BY "split"`:                                                    `SELECT a UNGROUP BY "split"`,
		`SELECT SUM(a) GROUP BY b HAVING SUM(a) > 1 ACROSS space`:                        `SELECT SUM(a) GROUP BY b HAVING SUM(a) > 1 ACROSS SPACE`,
		`SELECT a ORDER BY b DESC NULLS FIRST, c ASC`:                                    `SELECT a ORDER BY b DESC NULLS FIRST, c`,
		`SELECT * SAMPLE BY max_weight(a = 1: 2, TRUE: 1) replace false LIMIT 5 percent`: `SELECT * SAMPLE BY MAX_WEIGHT(a = 1: 2, TRUE: 1) REPLACE FALSE LIMIT 5 PERCENT`,
		`SELECT a FROM x, y LEFT OUTER JOIN z USING (k) JOIN w ON w.k = x.k`:             `SELECT a FROM x CROSS JOIN y LEFT JOIN z USING (k) INNER JOIN w ON w.k = x.k`,
		`SELECT a UNION ALL SELECT b INTERSECT SELECT c ORDER BY a`:                      `SELECT a UNION ALL SELECT b INTERSECT SELECT c ORDER BY a`,
		`(SELECT a UNION SELECT b) EXCEPT (SELECT c LIMIT 1)`:                            `(SELECT a UNION SELECT b) EXCEPT (SELECT c LIMIT 1)`,
		`WITH t AS (SELECT 1 AS n) SELECT t.*, n FROM t WHERE EXISTS (SELECT 2)`:         `WITH t AS (SELECT 1 AS n) SELECT t.*, n FROM t WHERE EXISTS (SELECT 2)`,
		`SELECT DISTINCT ON (a, b) a x`:                                                  `SELECT DISTINCT ON (a, b) a AS x`,
		`SELECT :a, b IN :Set, c NOT IN (:a) WHERE d > :from LIMIT :limit`:               `SELECT :a, b IN :Set, c NOT IN (:a) WHERE d > :from LIMIT :limit`,
		`SELECT a[:n], a[(:n)], a[(:n):(:m), -:n:2], f(a[0], :n)[1 + :m]`:                `SELECT a[:n], a[(:n)], a[(:n):(:m), -(:n):2], F(a[0], :n)[1 + (:m)]`,
		`SELECT a EXPAND BY :b :c`:                                                       `SELECT a EXPAND BY :b :c`,
		`SELECT a SAMPLE BY MAX_WEIGHT(:a: :b)`:                                          `SELECT a SAMPLE BY MAX_WEIGHT(:a: :b)`,
		`SELECT * exclude a, t.* EXCLUDE ("left/b", t.c) FROM t`:                         `SELECT * EXCLUDE (a), t.* EXCLUDE ("left/b", t.c) FROM t`,
		`SELECT exclude, * EXCLUDE exclude`:                                              `SELECT exclude, * EXCLUDE (exclude)`,
	} {
		s, err := Parse(text)
		switch {
		case want == "":
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v, want it refused", text, err)
			}
		case err != nil:
			t.Errorf("%s: %v", text, err)
		default:
			if got := s.String(); got != want {
				t.Errorf("%s became\n%s, want\n%s", text, got, want)
			}
			checkText(t, s)
		}
	}
}

// A mistake names its position, the text there, the wanted text, and a likely correction.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                `line 1, column 1: got the end, want SELECT`,
		`SELCT a`:                         `line 1, column 1: got SELCT, want SELECT; did you mean SELECT?`,
		`SELECT`:                          `line 1, column 7: got the end, want an expression`,
		`SELECT a FORM x`:                 `line 1, column 10: FORM is read as a name here, and nothing can follow it; did you mean "FROM"?`,
		`SELECT FRAMES(obs.images.top)`:   `line 1, column 25: got ., want ); a name with dots stands in double quotes: "obs.images.top"`,
		`SELECT a b c`:                    `line 1, column 12: got c, want the end of the query`,
		`SELECT a FROM x y WHRE b`:        `line 1, column 19: got WHRE, want the end of the query; did you mean WHERE?`,
		"SELECT a,\n  ORDER BY b":         `line 2, column 3: got ORDER, want an expression`,
		`SELECT a = b = c`:                `line 1, column 14: got a second comparison; want AND between them, or parentheses`,
		`SELECT f(a`:                      `line 1, column 11: got the end, want )`,
		`SELECT a[1`:                      `line 1, column 11: got the end, want ]`,
		`SELECT a[]`:                      `line 1, column 10: got ], want an index, a slice like 1:5, or ...`,
		`SELECT 'abc`:                     `line 1, column 8: what begins here in quotes has no end; want '`,
		`SELECT ""`:                       `line 1, column 8: a name is empty`,
		`SELECT a ; b`:                    `line 1, column 10: a query is one statement; a ';' may only end it`,
		`SELECT 12abc`:                    `line 1, column 8: a number ends in a letter, 12a`,
		`SELECT 1e999`:                    `line 1, column 8: the number 1e999 is beyond what 64 bits hold`,
		`SELECT a /* b`:                   `line 1, column 10: this comment has no end; want */`,
		"SELECT \xff":                     `line 1, column 8: this is not UTF-8`,
		`SELECT a FROM group`:             `got group, want a dataset: a name, or a URI in quotes; a name that is a word of the language goes in double quotes, "group"`,
		`SELECT a FROM x JOIN y`:          `column 23: got the end, want ON or USING`,
		`SELECT CASE a END`:               `column 15: got END, want WHEN`,
		`SELECT a IS 5`:                   `column 13: got 5, want NULL`,
		`SELECT a GROUP BY b ACROSS TIEM`: `want TIME or SPACE; did you mean TIME?`,
		`SELECT a ORDER BY b NULLS`:       `want FIRST or LAST`,
		`SELECT CAST(a, int)`:             `got ",", want AS`,
		`SELECT ä, 'é' +`:                 `line 1, column 16: got the end, want an expression`,
		`SELECT ?, :a`:                    `line 1, column 11: parameters are by position, ?, or by name, :label; a query has one kind of them`,
		`SELECT :a LIMIT ?`:               `line 1, column 17: parameters are by position`,
		`SELECT : a`:                      `line 1, column 8: got :, want an expression; a parameter is a colon and a word, as in :label`,
		`SELECT :'a'`:                     `line 1, column 8: got :, want an expression; a parameter`,
		`SELECT * EXCLUDE`:                `line 1, column 17: got the end, want a column`,
		`SELECT * EXCLUDE ()`:             `line 1, column 19: got ), want a column`,
		`SELECT * EXCLUDE (a`:             `got the end, want )`,
		`SELECT * EXCEPT (a)`:             `line 1, column 18: got a, want SELECT; to leave columns out, write * EXCLUDE (...)`,
		strings.Repeat("(", 300):          `more than 200 expressions and queries lie within each other`,
		"SELECT " + strings.Repeat("- ", 300) + "1":   `more than 200 expressions`,
		"SELECT " + strings.Repeat("NOT ", 300) + "a": `more than 200 expressions`,
		"SELECT " + strings.Repeat("a[", 300):         `more than 200 expressions`,
		"SELECT " + strings.Repeat("(SELECT ", 300):   `more than 200 expressions`,
		"SELECT " + strings.Repeat("a", maxText):      `a query has at most 1048576 bytes, this one 1048583`,
	} {
		_, err := Parse(text)
		want = strings.ReplaceAll(want, `got ","`, `got ,`)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got\n%.400v\nwant %s", text, err, want)
		}
	}
	_, err := Parse("SELECT a,\n\tb +\n\tc FROM d d WHRE e")
	if want := "\n   c FROM d d WHRE e\n              ^"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got\n%v\nwant it to end in%s", err, want)
	}
	_, err = Parse("SELECT " + strings.Repeat("a + ", 100) + "+")
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 || len(lines[1]) > maxShown+2 || strings.IndexByte(lines[2], '^') > maxShown {
		t.Errorf("a long line is shown as\n%v", err)
	}
}

// A long chain is no deep one.
func TestLongQueries(t *testing.T) {
	t.Parallel()
	text := "SELECT " + strings.Repeat("a + ", 50_000) + "a WHERE x IN (" + strings.Repeat("1, ", 50_000) + "1)"
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != text {
		t.Error("it reads back differently")
	}
}

// Parameters are numbered by their names, in the order of the text.
func TestParams(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`SELECT 1`:                ``,
		`SELECT ?, (SELECT ?), ?`: `0 1 2 `,
		`SELECT :a, (SELECT :b) WHERE :a LIMIT :c OFFSET :b`: `0a 1b 2c `,
		`WITH t AS (SELECT :x) (SELECT :y) UNION SELECT :x`:  `0x 1y `,
		`SELECT a[:n], a[(:m)]`:                              `0m `,
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range s.Params {
			got += fmt.Sprint(p.Number, p.Name, " ")
		}
		if got = strings.ReplaceAll(got, "  ", " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`SELECT images[100:500, ..., ::2] AS crop FROM "s3://b/x"@v2 WHERE IOU(boxes, "training/boxes") > 0.95 ORDER BY a DESC NULLS FIRST ARRANGE BY labels LIMIT 5 OFFSET ?`,
		`WITH t AS (SELECT DISTINCT ON (a) CASE WHEN a IS NOT NULL THEN 1 ELSE .5e-3 END) (SELECT * FROM t) UNION ALL SELECT t.* FROM t LEFT JOIN u USING (k)`,
		`SELECT EXISTS (SELECT 1), (SELECT 2) IN ((SELECT 3) EXCEPT SELECT 4), CAST(a AS int), EXTRACT(year FROM DATE '2024-01-02'), - -x ^ 2`,
		`SELECT COUNT(*) GROUP BY a HAVING ALL(b) ACROSS TIME UNGROUP BY SPLIT SAMPLE BY SUM_WEIGHT(a: 1, NOT b: 2) REPLACE FALSE LIMIT 5 PERCENT`,
		`SELECT * EXCLUDE (a, t.b), x[(:i):(:j)] WHERE c IN :set AND d > :from EXPAND BY :a :b SAMPLE BY MAX_WEIGHT(:a: :b)`,
		`SELECT a NOT BETWEEN 'x' AND 'y''z' || "q""r" EXPAND BY 1 2 OVERLAP FALSE -- comment`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if !errs.Is(err, errs.Invalid) {
				t.Fatalf("%v is of kind %v", err, errs.KindOf(err))
			}
			return
		}
		if again, err := Parse(s.String()); err != nil && strings.Contains(err.Error(), "lie within each other") || err == nil && again == nil {
			return // parentheses that the text did not need
		}
		checkText(t, s)
	})
}
