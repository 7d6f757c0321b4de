package main

import "testing"

func TestAuthor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		environ, git map[string]string
		want         string
	}{
		{name: "environment", environ: map[string]string{"DEEPLAKE_AUTHOR": " Ada ", "USER": "root"}, git: map[string]string{"user.name": "Grace"}, want: "Ada"},
		{name: "git", environ: map[string]string{"USER": "root"}, git: map[string]string{"user.name": "Grace", "user.email": "g@navy.example"}, want: "Grace <g@navy.example>"},
		{name: "name alone", git: map[string]string{"user.name": "Grace"}, want: "Grace"},
		{name: "address alone", git: map[string]string{"user.email": "g@navy.example"}, want: "g@navy.example"},
		{name: "account", environ: map[string]string{"USER": "root"}, want: "root"},
	} {
		look := func(m map[string]string) func(string) string { return func(name string) string { return m[name] } }
		if got := authorOf(look(c.environ), look(c.git)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if authorOf(func(string) string { return "" }, func(string) string { return "" }) == "" {
		t.Error("the account of the process has no name")
	}
}
