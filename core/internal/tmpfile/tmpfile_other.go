//go:build !linux

package tmpfile

import "errors"

func anonymous(string) (*File, error) { return nil, nil }

func (f *File) linkAnonymous(string) error { return errors.ErrUnsupported }
