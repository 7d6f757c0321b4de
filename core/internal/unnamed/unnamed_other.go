//go:build !linux

package unnamed

import "errors"

func anonymous(string) (*File, error) { return nil, nil }

func (f *File) linkAnonymous(string) error { return errors.ErrUnsupported }
