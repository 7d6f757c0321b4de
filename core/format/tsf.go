package format

// TSF is the content of tsf.json.
type TSF struct {
	Format   int // always Version
	UUID     UUID
	Main     UUID // the branch that the name main means
	Features []string
}

// EncodeTSF renders tsf.json.
func EncodeTSF(t TSF) ([]byte, error) { return nil, stub() }

// DecodeTSF is strict.
func DecodeTSF(data []byte) (TSF, error) { return TSF{}, stub() }
