package urls

import (
	"net/url"
	"strconv"
	"strings"

	"deeplake/core/internal/request"
)

const (
	// maxURL bounds the text of an address.
	maxURL = 8 << 10
	// maxMoves bounds the redirections of an object.
	maxMoves = 10
)

const notURL = "not a URL"

// parse returns the address in a text, or the reason for which it is refused. The reason has no
// piece of the text: it may hold a password.
func parse(text string) (*url.URL, string) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL {
		return nil, "the URL is longer than " + amount(maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return nil, notURL
	}
	if reason := refused(u); reason != "" {
		return nil, reason
	}
	u.Fragment, u.RawFragment = "", ""
	return u, ""
}

// refused returns the reason for which an address is refused; "": it is allowed.
func refused(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "the URL is neither http nor https"
	case u.User != nil:
		return "the URL holds a name or a password"
	case u.Opaque != "" || !isHost(u.Hostname()) || !isPort(u.Port()):
		return notURL
	}
	return ""
}

// isHost reports whether a text can be a name or a number of a host. Names may have letters of any
// language.
func isHost(name string) bool {
	bad := func(r rune) bool {
		return r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-._:", r)
	}
	return name != "" && !strings.ContainsFunc(name, bad)
}

func isPort(text string) bool {
	if text == "" {
		return true
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// hostOf names the server of u. http and https of a host are one.
func hostOf(u *url.URL) string {
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		name += " " + port
	}
	return name
}

// follow returns where a redirection of j leads, or the reason why it is not followed.
func (j *job) follow(location string) (*url.URL, string) {
	if j.moves++; j.moves > maxMoves {
		return nil, "more than " + strconv.Itoa(maxMoves) + " redirections"
	}
	if len(location) > maxURL {
		return nil, "a redirection to a URL longer than " + amount(maxURL)
	}
	u, err := request.Follow(j.url, location)
	if err != nil {
		return nil, err.Error()
	}
	if reason := refused(u); reason != "" {
		return nil, "a redirection: " + reason
	}
	u.Fragment, u.RawFragment = "", ""
	return u, ""
}
