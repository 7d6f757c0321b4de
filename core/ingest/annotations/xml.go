package annotations

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"deeplake/core/errs"
)

// xmlAnnotation is an XML file of one picture.
type xmlAnnotation struct {
	XMLName xml.Name    `xml:"annotation"`
	Objects []xmlObject `xml:"object"`
}

type xmlObject struct {
	Name      string  `xml:"name"`
	Pose      *string `xml:"pose"`
	Truncated *string `xml:"truncated"`
	Difficult *string `xml:"difficult"`
	Occluded  *string `xml:"occluded"`
	Box       *struct {
		Left   string `xml:"xmin"`
		Top    string `xml:"ymin"`
		Right  string `xml:"xmax"`
		Bottom string `xml:"ymax"`
	} `xml:"bndbox"`
}

// readXML reads the file of a picture. encoding/xml expands no entities but the five of XML itself;
// documents that declare some are refused.
func readXML(data []byte) (*xmlAnnotation, error) {
	if bytes.Contains(data, []byte("<!DOCTYPE")) || bytes.Contains(data, []byte("<!ENTITY")) {
		return nil, errs.New(errs.Invalid, "declares a document type or entities; remove them")
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, errs.New(errs.Invalid, "is in %q, want UTF-8", charset)
	}
	a := &xmlAnnotation{}
	if err := d.Decode(a); err != nil {
		if known := errs.KindOf(err); known == errs.Invalid && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errs.New(errs.Corrupt, "is no XML of an annotation: %w", err)
	}
	if len(a.Objects) > maxObjects {
		return nil, errs.New(errs.Invalid, "has %d objects, want at most %d", len(a.Objects), maxObjects)
	}
	return a, nil
}
