//go:build !js

package names

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"deeplake/core/errs"
	"deeplake/core/internal/private"
)

// rootsOf returns the storage roots by organisation. DEEPLAKE_ROOTS, `org=root;other=root`,
// overrules the table [roots] of the configuration file. A root is a folder, or an address in a
// store.
func rootsOf(e Environ) (map[string]string, error) {
	roots, err := fileRoots(e.folder("XDG_CONFIG_HOME", ".config") + "/deeplake/config.toml")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(e.get("DEEPLAKE_ROOTS"), ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		org, root, _ := strings.Cut(entry, "=")
		org, root = strings.TrimSpace(org), strings.TrimSpace(root)
		if root == "" || !part.MatchString(org) {
			return nil, errs.New(errs.Invalid, `read DEEPLAKE_ROOTS: got "%s", want org=root, separated by ";"`, entry)
		}
		roots[org] = root
	}
	return roots, nil
}

// maxConfiguration bounds the configuration file.
const maxConfiguration = 1 << 20

// fileRoots returns the roots of a configuration file, none if there is no file.
func fileRoots(path string) (map[string]string, error) {
	roots := map[string]string{}
	text, err := private.ReadFile(path, maxConfiguration)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return roots, nil
	}
	var file struct {
		Roots any `toml:"roots"`
	}
	var about toml.MetaData
	switch {
	case err == nil && !utf8.Valid(text):
		err = errors.New("it is no UTF-8")
	case err == nil:
		about, err = toml.Decode(string(text), &file)
	default:
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err // without the path again
		}
	}
	if err != nil {
		return nil, errs.Op("read configuration", path).New(errs.Invalid, "%w", err)
	}
	for _, key := range about.Keys() {
		if key[0] != "roots" {
			return nil, errs.Op("read configuration", path).New(errs.Invalid, "unknown key %q%s", key[0], errs.Suggest(key[0], []string{"roots"}))
		}
	}
	if file.Roots == nil {
		return roots, nil
	}
	table, ok := file.Roots.(map[string]any)
	for org, value := range table {
		root, isText := value.(string)
		ok = ok && isText && root != "" && part.MatchString(org)
		roots[org] = root
	}
	if !ok {
		return nil, errs.Op("read configuration", path).New(errs.Invalid, `want lines like name = "/folder" under [roots]`)
	}
	return roots, nil
}
