package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// headersOf copies the headers of this machine's libjpeg, with another jconfig.h.
func headersOf(t *testing.T, change func(config string) string) string {
	t.Helper()
	probe := exec.Command("cc", "-M", "-x", "c", "-")
	probe.Stdin = strings.NewReader("#include <stdio.h>\n#include <jpeglib.h>\n#include <jerror.h>\n")
	list, err := probe.Output()
	if err != nil {
		t.Skipf("this machine has no headers of libjpeg: %v", err)
	}
	dir := t.TempDir()
	for _, path := range strings.Fields(string(list)) {
		name := filepath.Base(path)
		if name != "jpeglib.h" && name != "jerror.h" && name != "jmorecfg.h" && name != "jconfig.h" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "jconfig.h" {
			text = []byte(change(string(text)))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLibjpegInterfaces builds the codec against the headers of every binary interface that
// libjpeg-turbo can have, and holds that a library that runs with another one is refused. `make
// libjpeg` runs the tests of codecs with such libraries.
func TestLibjpegInterfaces(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`(?m)^#define JPEG_LIB_VERSION .*$`)
	here := "" // of this machine
	for _, number := range []string{"62", "70", "80"} {
		dir := headersOf(t, func(config string) string {
			here = version.FindString(config)
			return version.ReplaceAllString(config, "#define JPEG_LIB_VERSION "+number)
		})
		flags := "CGO_CFLAGS=-O0 -I" + dir
		if answer := probed(t, flags); strings.Contains(answer, "nolibjpeg") {
			t.Errorf("the probe refuses headers of interface %s: %s", number, answer)
		}
		sources, err := filepath.Glob("../../core/codec/jpeg/turbo_*.c")
		if err != nil || len(sources) < 3 {
			t.Fatal(sources, err)
		}
		if out, err := exec.Command("cc", append([]string{"-fsyntax-only", "-Werror", "-I" + dir}, sources...)...).CombinedOutput(); err != nil {
			t.Errorf("interface %s: %s", number, out)
		}
		if number == "70" || strings.HasSuffix(here, number) || testing.Short() {
			continue // one run with a foreign library is enough
		}
		env := []string{"CGO_ENABLED=1", flags, "DEEPLAKE_TEST_OTHER_LIBJPEG=1"}
		if out := goCommand(t, env, "test", "-v", "-count=1", "-run", "^TestOtherLibrary$", "./core/codec/jpeg"); !strings.Contains(out, "--- PASS") {
			t.Errorf("interface %s: %s", number, out)
		}
	}
	turbo := regexp.MustCompile(`(?m)^#define LIBJPEG_TURBO_VERSION.*$`)
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"another libjpeg":   {func(c string) string { return turbo.ReplaceAllString(c, "") }, "is not libjpeg-turbo"},
		"unknown interface": {func(c string) string { return version.ReplaceAllString(c, "#define JPEG_LIB_VERSION 90") }, "unknown binary interface"},
	} {
		if answer := probed(t, "CGO_CFLAGS=-I"+headersOf(t, c.change)); !strings.Contains(answer, "nolibjpeg") || !strings.Contains(answer, c.want) {
			t.Errorf("%s: the probe says %s, want nolibjpeg and %q", name, answer, c.want)
		}
	}
}

// probed returns the build tags that tools/toolchain.py prints.
func probed(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.Command("python3", "tools/toolchain.py", "tags")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestPortableCodecs runs the tests of codecs with the code for processors without AVX2 and BMI2,
// and for builds without libzstd.
func TestPortableCodecs(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the codecs once more")
	}
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(probed(t)), "\n")
	env, tags := []string{"CGO_ENABLED=1", "CGO_CFLAGS=-O1 -DDLI_PORTABLE"}, lines[len(lines)-1]
	if out := goCommand(t, env, "test", "-count=1", "-tags", tags, "./core/codec/jpeg", "./core/codec/png"); strings.Count(out, "ok  ") != 2 {
		t.Error(out)
	}
	// Without C.
	if out := goCommand(t, nil, "test", "-count=1", "./core/codec/zstd"); strings.Count(out, "ok  ") != 1 {
		t.Error(out)
	}
}
