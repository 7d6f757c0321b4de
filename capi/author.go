package main

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"sync"
	"time"
)

// gitPatience bounds the wait for git, which may lie on a network disk.
const gitPatience = 2 * time.Second

// author names the user in commits, tags and views: DEEPLAKE_AUTHOR, else the name and address in
// the configuration of git, else the account.
var author = sync.OnceValue(func() string { return authorOf(os.Getenv, gitSetting) })

func authorOf(getenv, git func(name string) string) string {
	if name := strings.TrimSpace(getenv("DEEPLAKE_AUTHOR")); name != "" {
		return name
	}
	name, address := git("user.name"), git("user.email")
	switch {
	case name != "" && address != "":
		return name + " <" + address + ">"
	case name != "" || address != "":
		return name + address
	}
	if name := getenv("USER"); name != "" {
		return name
	}
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return ""
}

// gitSetting returns a setting of git for the current folder; "" without git. It reads settings
// only, and asks for nothing.
func gitSetting(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), gitPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "config", "--get", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
