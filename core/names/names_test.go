package names

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// configured returns an environment whose home folder has a configuration file.
func configured(t *testing.T, config string) (string, Environ) {
	t.Helper()
	home := t.TempDir()
	folder := filepath.Join(home, ".config/deeplake")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, Environ{"HOME": home}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	home, e := configured(t, "[roots]\nacme = \"/srv/acme/\"\nother = 'mem://other' # a store\nhomely = \"~/sets\"\n")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		t.Fatal(err)
	}
	with := func(pairs ...string) Environ {
		out := Environ{"HOME": home}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	roots := with("DEEPLAKE_ROOTS", "acme=/elsewhere; third = s3://bucket/prefix ;")
	for _, c := range []struct {
		uri  string
		e    Environ
		want string
	}{
		{"deeplake://me/x", e, home + "/.local/share/deeplake/me/x"},
		{"deeplake://me/x", with("XDG_DATA_HOME", "/data"), "/data/deeplake/me/x"},
		{"deeplake://me/x", with("XDG_DATA_HOME", "relative"), home + "/.local/share/deeplake/me/x"},
		{"deeplake://acme/x", with("XDG_CONFIG_HOME", "/nowhere"), home + "/.local/share/deeplake/acme/x"},
		{"deeplake://acme/x", e, "/srv/acme/x"},
		{"deeplake://other/x", e, "mem://other/x"},
		{"deeplake://homely/x", e, home + "/sets/x"},
		{"deeplake://acme/x", roots, "/elsewhere/x"},
		{"deeplake://third/x", roots, "s3://bucket/prefix/x"},
		{"deeplake://dots/x", with("DEEPLAKE_ROOTS", "dots=/a//b/./../c/"), "/a/b/../c/x"},
		{"s3://bucket/x/../y", e, "s3://bucket/x/../y"},
		{"~/x/", e, home + "/x"},
		{"~", e, home},
		{"~no-such-user/x", e, here + "/~no-such-user/x"},
		{"/a/./b/../c//d/", e, "/a/c/d"},
		{"//a", e, "//a"},
		{"///a", e, "/a"},
		{"x/../y", e, here + "/y"},
	} {
		if got, err := Resolve(c.uri, c.e); err != nil || got != c.want {
			t.Errorf("%s with %v: got %q, %v, want %q", c.uri, c.e, got, err, c.want)
		}
	}
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	_, e := configured(t, "")
	long := strings.Repeat("x", 129)
	for _, uri := range []string{"deeplake://", "deeplake://org", "deeplake://org/", "deeplake://org/a/b", "deeplake://../x", "deeplake://o/..",
		"deeplake://o/.hidden", "deeplake://o/a b", "deeplake:///x", "deeplake://o/é", "deeplake://o/x\n", "deeplake://" + long + "/x"} {
		if _, err := Resolve(uri, e); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "want deeplake://org/name") {
			t.Errorf("%q: got %v", uri, err)
		}
	}
	for _, uri := range []string{"", "a\x00b"} {
		if _, err := Resolve(uri, e); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: got %v", uri, err)
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, roots, want string }{
		{"[roots\n", "", "config.toml"},
		{"[rots]\n", "", `unknown key "rots"; did you mean "roots"`},
		{"roots = 3\n", "", "under [roots]"},
		{"[roots]\nacme = 3\n", "", "under [roots]"},
		{"[roots]\nacme = \"\"\n", "", "under [roots]"},
		{"[roots]\n\"a/b\" = \"/x\"\n", "", "under [roots]"},
		{"[roots.acme]\nx = \"/x\"\n", "", "under [roots]"},
		{"[roots]\nacme = \"relative\"\n", "", "want an absolute path"},
		{"\xff", "", "UTF-8"},
		{"", "acme", `got "acme", want org=root`},
		{"", "acme=", "want org=root"},
		{"", "a/b=/x", "want org=root"},
	} {
		_, e := configured(t, c.config)
		e["DEEPLAKE_ROOTS"] = c.roots
		if _, err := Resolve("deeplake://acme/x", e); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: got %v, want %q", c.config, c.roots, err, c.want)
		}
	}
	home, e := configured(t, "")
	if err := os.Remove(home + "/.config/deeplake/config.toml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home+"/.config/deeplake/config.toml", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve("deeplake://acme/x", e); !errs.Is(err, errs.Invalid) {
		t.Errorf("a folder in place of the file: got %v", err)
	}
}

func TestOrgs(t *testing.T) {
	t.Parallel()
	home, e := configured(t, "roots.acme = \"/srv/acme\"\n")
	for _, name := range []string{"me", ".hidden"} {
		if err := os.MkdirAll(home+"/.local/share/deeplake/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Orgs(e); err != nil || !slices.Equal(got, []string{"acme", "me"}) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, c := range []struct{ uri, org, root string }{
		{"deeplake://acme", "acme", "/srv/acme"},
		{"deeplake://me/", "me", home + "/.local/share/deeplake/me"},
		{"deeplake://me/x", "", ""},
		{"deeplake://", "", ""},
		{"me", "", ""},
	} {
		if org, root, err := Root(c.uri, e); err != nil || org != c.org || root != c.root {
			t.Errorf("%s: got %q, %q, %v", c.uri, org, root, err)
		}
	}
	e["DEEPLAKE_ROOTS"] = "acme"
	if _, err := Orgs(e); !errs.Is(err, errs.Invalid) {
		t.Errorf("bad roots: got %v", err)
	}
}
