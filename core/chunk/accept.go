package chunk

import (
	"deeplake/core/codec"
	"deeplake/core/errs"
)

// Accepted is a sample of a damaged file, which was delivered with the pixels that its decoder
// could make.
type Accepted struct {
	Ref *Ref
	Err error // of the decoding without acceptance
}

// AcceptDamage makes the worker deliver samples of damaged files whose decoders are
// codec.DamageAcceptors. It lists them for TakeAccepted. Damage in storage, which checksums find,
// stays an error.
func (w *Worker) AcceptDamage() {
	w.accepts = true
	w.codecs = w.codecs.AcceptCut()
}

// TakeAccepted returns the samples accepted since the last call, once for each damaged file. The
// result is valid until the next sample is read.
func (w *Worker) TakeAccepted() []Accepted {
	taken := w.accepted
	w.accepted = w.accepted[:0]
	return taken
}

// HasAccepted reports whether TakeAccepted will list a sample.
func (w *Worker) HasAccepted(ref *Ref) bool {
	for _, a := range w.accepted {
		if a.Ref == ref {
			return true
		}
	}
	return false
}

// accept is called after the decoder has failed with err on the file of a sample. It calls decode
// while the decoder accepts damage, and returns the error that is left.
func (w *Worker) accept(dec codec.Decoder, ref *Ref, err error, decode func() error) error {
	tolerant, ok := dec.(codec.DamageAcceptor)
	if !w.accepts || !ok || !errs.Is(err, errs.Corrupt) {
		return err
	}
	tolerant.AcceptDamage(true)
	defer tolerant.AcceptDamage(false)
	if decode() != nil {
		return err
	}
	w.accepted = append(w.accepted, Accepted{ref, err})
	return nil
}
