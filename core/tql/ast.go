package tql

// Statement is a query: a body, and the clauses that apply to all of its rows.
type Statement struct {
	At      Pos
	With    []Named
	Body    Body
	Order   []Order
	Arrange []Expr
	Limit   Expr // nil: all
	Offset  Expr // nil: 0
	Sample  *Sample
	// Params are the parameters of the whole text by their numbers, each where it occurs first. A
	// query within another one has none.
	Params []*Param
}

// Named is a named query of WITH.
type Named struct {
	Name  string
	Query *Statement
}

// Body is *Select, *Union, or a *Statement in parentheses.
type Body interface{ body() }

func (*Select) body()    {}
func (*Union) body()     {}
func (*Statement) body() {}

// Union is a set operation on the rows of two bodies.
type Union struct {
	Op          string // UNION, INTERSECT or EXCEPT
	All         bool   // rows may repeat
	Left, Right Body
}

// Select is one SELECT with its own clauses.
type Select struct {
	At       Pos
	Distinct bool
	On       []Expr // the expressions of DISTINCT ON
	List     []Column
	From     *Source // nil: the queried dataset
	Joins    []Join
	Where    Expr
	Expand   *Expand
	Group    []Expr
	Having   Expr
	Across   string // TIME, SPACE or ""
	Ungroup  *Ungroup
}

// Column is one column of the result, or * for all columns of a source.
type Column struct {
	At   Pos
	Expr Expr   // nil: *
	Of   string // the source of *; "": all sources
	As   string
	// Exclude are the columns that * leaves out.
	Exclude []*Name
}

// Source is a dataset, or a query in its place.
type Source struct {
	At    Pos
	Name  string // the name of a dataset or of a query of WITH, or a URI
	Ref   Expr   // its version: a string, a number or a name; nil: the newest
	Query *Statement
	As    string
}

// Join joins a source to the sources before it. Kind is INNER, LEFT, RIGHT, FULL or CROSS.
type Join struct {
	At    Pos
	Kind  string
	With  Source
	On    Expr
	Using []string
}

// Expand adds the neighbouring rows of each row.
type Expand struct {
	At            Pos
	Before, After Expr // After nil: the same number as Before
	Merge         bool // OVERLAP FALSE
}

// Ungroup splits a row into several.
type Ungroup struct {
	At Pos
	By Expr // nil: SPLIT
}

// Order is one sort key.
type Order struct {
	Expr  Expr
	Desc  bool
	Nulls string // FIRST, LAST or "": last, as in DuckDB
}

// Sample is SAMPLE BY: it draws rows by weight.
type Sample struct {
	At      Pos
	Weight  Expr
	Keep    bool // REPLACE FALSE: no row twice
	Limit   Expr
	Percent bool
}

// Expr is an expression.
type Expr interface{ Pos() Pos }

// Start is the position of an expression. All expressions embed it.
type Start Pos

// Pos returns the position at which the expression begins.
func (a Start) Pos() Pos { return Pos(a) }

// The expressions.
type (
	// Name is a column. Of is the source, or "".
	Name struct {
		Start
		Of, Name string
	}
	// Literal is a constant: nil, bool, int64, float64 or string.
	Literal struct {
		Start
		Value any
	}
	// Time is a literal of DATE, TIMESTAMP or INTERVAL.
	Time struct {
		Start
		Kind, Text string
	}
	// Param is a parameter, ? or :Name. Parameters are numbered from 0; a name has one number
	// wherever it occurs.
	Param struct {
		Start
		Number int
		Name   string // "": ?
	}
	// Array is ARRAY[...] or [...].
	Array struct {
		Start
		Items []Expr
	}
	// Unary is a sign, + or -, or NOT.
	Unary struct {
		Start
		Op string
		X  Expr
	}
	// Binary is arithmetic, ||, a comparison (one of = != < <= > >=), AND or OR.
	Binary struct {
		Start
		Op   string
		X, Y Expr
	}
	// IsNull is IS [NOT] NULL.
	IsNull struct {
		Start
		X   Expr
		Not bool
	}
	// Between is [NOT] BETWEEN.
	Between struct {
		Start
		X, Low, High Expr
		Not          bool
	}
	// In is [NOT] IN. It has a list, a query, or a parameter that is the list.
	In struct {
		Start
		X     Expr
		List  []Expr
		Query *Statement
		Param *Param
		Not   bool
	}
	// Like is [NOT] LIKE or ILIKE.
	Like struct {
		Start
		X, Pattern Expr
		Fold, Not  bool
	}
	// Case is CASE. Of is its operand, or nil.
	Case struct {
		Start
		Of    Expr
		Whens []When
		Else  Expr
	}
	// Cast is CAST(X AS Type).
	Cast struct {
		Start
		X    Expr
		Type string
	}
	// Extract is EXTRACT(Field FROM X).
	Extract struct {
		Start
		Field string
		X     Expr
	}
	// Call is a function call. Name is in upper case.
	Call struct {
		Start
		Name     string
		Distinct bool
		Star     bool // COUNT(*)
		Args     []Expr
		Weights  []Weight // of MAX_WEIGHT and SUM_WEIGHT
	}
	// Index is X[...].
	Index struct {
		Start
		X     Expr
		Items []Item
	}
	// Subquery is a query in parentheses that gives one value.
	Subquery struct {
		Start
		Query *Statement
	}
	// Exists is EXISTS (...).
	Exists struct {
		Start
		Query *Statement
	}
)

// When is one arm of a Case.
type When struct{ If, Then Expr }

// Weight is one argument of MAX_WEIGHT and SUM_WEIGHT: rows for which If holds weigh Then.
type Weight struct{ If, Then Expr }

// Item is one item between the brackets of an Index.
type Item struct {
	At       Expr // an index or key
	Slice    bool // Low:High:Step, each of which may be nil
	Low      Expr
	High     Expr
	Step     Expr
	Ellipsis bool
}
