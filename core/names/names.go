//go:build !js

package names

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"deeplake/core/errs"
	"deeplake/core/internal/private"
)

// part matches an organisation and the name of a dataset.
var part = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (e Environ) get(name string) string {
	if e == nil {
		return os.Getenv(name)
	}
	return e[name]
}

// Resolve returns the place that a URI names: an absolute path, or an address with a scheme, which
// it leaves alone. It looks deeplake://org/name up in the roots of the organisations. A path may
// begin with "~". Resolve reads nothing but the configuration.
func Resolve(uri string, e Environ) (string, error) {
	switch {
	case uri == "" || strings.Contains(uri, "\x00"):
		return "", errs.Op("resolve uri", uri).New(errs.Invalid, "empty, or with a null character; give a path or a URI")
	case strings.HasPrefix(uri, Scheme):
		org, name, _ := strings.Cut(strings.TrimPrefix(uri, Scheme), "/")
		if !part.MatchString(org) || !part.MatchString(name) {
			return "", errs.New(errs.Invalid, `resolve uri "%s": want deeplake://org/name, both of letters, digits, ".", "_" and "-", beginning with a letter or digit; deeplake ls deeplake://org/ shows the names`, uri)
		}
		root, err := rootOf(org, e)
		if err != nil {
			return "", err
		}
		return strings.TrimRight(root, "/") + "/" + name, nil
	case strings.Contains(uri, "://"):
		return uri, nil
	}
	return absolute(e.expand(uri))
}

// Root returns the organisation that deeplake://org or deeplake://org/ names, and its storage root.
// It returns "", "" for any other text.
func Root(uri string, e Environ) (org, root string, err error) {
	org, ok := strings.CutPrefix(uri, Scheme)
	org = strings.TrimRight(org, "/")
	if !ok || !part.MatchString(org) {
		return "", "", nil
	}
	root, err = rootOf(org, e)
	return org, root, err
}

// Orgs returns the organisations that are known here, in order: those with a root of their own, and
// the folders of the default one.
func Orgs(e Environ) ([]string, error) {
	roots, err := rootsOf(e)
	if err != nil {
		return nil, err
	}
	orgs := []string{}
	for org := range roots {
		orgs = append(orgs, org)
	}
	folder := dataFolder(e)
	entries, _ := os.ReadDir(folder) // without the folder there are no names in it
	for _, entry := range entries {
		if at, err := os.Stat(filepath.Join(folder, entry.Name())); err == nil && at.IsDir() && part.MatchString(entry.Name()) {
			orgs = append(orgs, entry.Name())
		}
	}
	slices.Sort(orgs)
	return slices.Compact(orgs), nil
}

// rootOf returns the storage root of an organisation: a folder of the user's by default.
func rootOf(org string, e Environ) (string, error) {
	roots, err := rootsOf(e)
	if err != nil {
		return "", err
	}
	root, ok := roots[org]
	switch {
	case !ok:
		folder := dataFolder(e)
		if err := private.Check(folder); err != nil {
			return "", err
		}
		return folder + "/" + org, nil
	case strings.Contains(root, "://"):
		return root, nil
	}
	path := e.expand(root)
	if !filepath.IsAbs(path) {
		return "", errs.Op("read storage root", root).New(errs.Invalid, "want an absolute path or a URI")
	}
	return tidy(path), nil
}

// dataFolder returns the folder of the organisations that have no root of their own.
func dataFolder(e Environ) string { return e.folder("XDG_DATA_HOME", ".local/share") + "/deeplake" }

// folder returns a base directory of XDG. By the XDG rules a relative path counts as unset.
func (e Environ) folder(variable, fallback string) string {
	if path := e.get(variable); filepath.IsAbs(path) {
		return tidy(path)
	}
	return tidy(e.expand("~") + "/" + fallback)
}

// expand replaces "~" and "~user" at the start of a path. It leaves a path alone if the home folder
// is not known.
func (e Environ) expand(path string) string {
	if !strings.HasPrefix(path, "~") {
		return path
	}
	name, rest, _ := strings.Cut(path[1:], "/")
	home := ""
	switch {
	case name != "":
		if u, err := user.Lookup(name); err == nil {
			home = u.HomeDir
		}
	default:
		if home = e.get("HOME"); home == "" {
			if u, err := user.Current(); err == nil {
				home = u.HomeDir
			}
		}
	}
	if home == "" {
		return path
	}
	return cmp.Or(strings.TrimRight(home, "/")+"/"+rest, "/")
}

// absolute returns an absolute path without "." and "..". It asks the system for the working
// folder: PWD may name it by a link.
func absolute(path string) (string, error) {
	if !filepath.IsAbs(path) {
		here, err := syscall.Getwd()
		if err != nil {
			return "", errs.Op("resolve uri", path).New(errs.Invalid, "the working folder is gone: %w", err)
		}
		path = here + "/" + path
	}
	clean := filepath.Clean(path)
	if strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///") {
		clean = "/" + clean // POSIX gives two slashes a meaning of their own
	}
	return clean, nil
}

// tidy drops repeated slashes and "." from an absolute path. It keeps "..", since links may lie
// before it.
func tidy(path string) string {
	var out strings.Builder
	for p := range strings.SplitSeq(path, "/") {
		if p != "" && p != "." {
			out.WriteString("/" + p)
		}
	}
	return cmp.Or(out.String(), "/")
}
