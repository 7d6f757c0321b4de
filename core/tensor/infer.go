package tensor

// Inferred is the tensor that samples make in a dataset that has none.
type Inferred struct {
	HType      string
	DType      DType // 0: that of the samples
	ClassNames []string
	// one of the files that are the samples: its kind decides the htype, if it is known; nil: none
	File []byte
	Link *Link // to one of the files; nil: none
}

// Infer returns the tensor for the samples of r, by the first one. Its dtype is theirs.
func (r *Rows) Infer() Inferred {
	if r.Foreign != nil {
		return r.Foreign.Infer()
	}
	in := Inferred{HType: "generic"}
	switch {
	case r.Names != nil:
		in.HType = "class_label"
	case r.Texts != nil:
		in.HType = textHType(r.Texts.DType)
	default:
		for i := range r.Samples {
			s := &r.Samples[i]
			switch s.Form {
			case FormHole:
				continue
			case FormText:
				in.HType = textHType(s.DType)
			case FormEncoded:
				in.HType, in.File = "image", s.Data
			case FormLink:
				if in.HType = "image"; s.Link != nil {
					in.Link = s.Link
				}
			}
			break
		}
	}
	if r.RowItems != nil {
		in.HType, in.File = "sequence["+in.HType+"]", nil
		in.Link = nil
	}
	return in
}

// textHType is the htype of text, JSON or bytes.
func textHType(d DType) string {
	switch d {
	case String:
		return "text"
	case JSON:
		return "json"
	}
	return "generic"
}
