package query

// Statement is a query: selects that are joined, and what becomes of all their rows.
type Statement struct {
	At      Pos
	With    []Named
	Body    Body
	Order   []Order
	Arrange []Expr
	Limit   Expr // nil: all
	Offset  Expr // nil: 0
	Sample  *Sample
}

// Named is a statement under a name, of WITH.
type Named struct {
	Name  string
	Query *Statement
}

// Body is *Select, *Union, or a *Statement in parentheses.
type Body interface{ body() }

func (*Select) body()    {}
func (*Union) body()     {}
func (*Statement) body() {}

// Union joins the rows of two bodies: UNION, INTERSECT or EXCEPT.
type Union struct {
	Op          string
	All         bool // rows may repeat
	Left, Right Body
}

// Select is one select without what comes after all rows are there.
type Select struct {
	At       Pos
	Distinct bool
	On       []Expr // of DISTINCT ON
	List     []Column
	From     *Source // nil: the dataset that is asked
	Joins    []Join
	Where    Expr
	Expand   *Expand
	Group    []Expr
	Having   Expr
	Across   string // TIME, SPACE or ""
	Ungroup  *Ungroup
}

// Column is one of the results: an expression, or all of a source.
type Column struct {
	At   Pos
	Expr Expr   // nil: *
	Of   string // with *: whose; "": everybody's
	As   string
}

// Source is a dataset, or a query that stands for one.
type Source struct {
	At    Pos
	Name  string // of a dataset or of WITH, or a URI
	Ref   Expr   // its version: a string, a number or a name; nil: the newest
	Query *Statement
	As    string
}

// Join is INNER, LEFT, RIGHT, FULL or CROSS.
type Join struct {
	At    Pos
	Kind  string
	With  Source
	On    Expr
	Using []string
}

// Expand adds the rows around each row.
type Expand struct {
	At            Pos
	Before, After Expr // After nil: as many as before
	Merge         bool // OVERLAP FALSE
}

// Ungroup makes several rows of one.
type Ungroup struct {
	At Pos
	By Expr // nil: SPLIT
}

// Order is one key to sort by.
type Order struct {
	Expr  Expr
	Desc  bool
	Nulls string // FIRST, LAST or "": last, as DuckDB has it
}

// Sample draws rows by weight.
type Sample struct {
	At      Pos
	Weight  Expr
	Keep    bool // REPLACE FALSE: no row twice
	Limit   Expr
	Percent bool
}

// Expr is an expression.
type Expr interface{ Pos() Pos }

type at Pos

// Pos is where the expression begins.
func (a at) Pos() Pos { return Pos(a) }

// The expressions.
type (
	// Name is a column, perhaps of a named source.
	Name struct {
		at
		Of, Name string
	}
	// Literal is nil, bool, int64, float64 or string.
	Literal struct {
		at
		Value any
	}
	// Time is DATE, TIMESTAMP or INTERVAL with its text.
	Time struct {
		at
		Kind, Text string
	}
	// Param is a ?, numbered from 0.
	Param struct {
		at
		Number int
	}
	// Array is ARRAY[...] or [...].
	Array struct {
		at
		Items []Expr
	}
	// Unary is + - or NOT.
	Unary struct {
		at
		Op string
		X  Expr
	}
	// Binary is arithmetic, ||, a comparison (one of = != < <= > >=), AND or OR.
	Binary struct {
		at
		Op   string
		X, Y Expr
	}
	// IsNull is IS [NOT] NULL.
	IsNull struct {
		at
		X   Expr
		Not bool
	}
	// Between is [NOT] BETWEEN.
	Between struct {
		at
		X, Low, High Expr
		Not          bool
	}
	// In is [NOT] IN, of a list or a query.
	In struct {
		at
		X     Expr
		List  []Expr
		Query *Statement
		Not   bool
	}
	// Like is [NOT] LIKE or ILIKE.
	Like struct {
		at
		X, Pattern Expr
		Fold, Not  bool
	}
	// Case is CASE, with or without an operand.
	Case struct {
		at
		Of    Expr
		Whens []When
		Else  Expr
	}
	// Cast is CAST(X AS Type).
	Cast struct {
		at
		X    Expr
		Type string
	}
	// Extract is EXTRACT(Field FROM X).
	Extract struct {
		at
		Field string
		X     Expr
	}
	// Call is a function; Name is in upper case.
	Call struct {
		at
		Name     string
		Distinct bool
		Star     bool // COUNT(*)
		Args     []Expr
		Weights  []Weight // of MAX_WEIGHT and SUM_WEIGHT
	}
	// Index is X[...].
	Index struct {
		at
		X     Expr
		Items []Item
	}
	// Subquery is a query for one value.
	Subquery struct {
		at
		Query *Statement
	}
	// Exists is EXISTS (...).
	Exists struct {
		at
		Query *Statement
	}
)

// When is one arm of a Case.
type When struct{ If, Then Expr }

// Weight is what a row weighs for which If holds.
type Weight struct{ If, Then Expr }

// Item is one of the places between the brackets of an Index.
type Item struct {
	At       Expr // a single index or key
	Slice    bool // Low:High:Step, each of which may be nil
	Low      Expr
	High     Expr
	Step     Expr
	Ellipsis bool
}
