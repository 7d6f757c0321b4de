package storage

import (
	"net/url"
	"strings"
)

// signatureParams are the query parameters, in lower case, that give a URL the right to read:
// presigned URLs of Amazon, Google, CloudFront and Azure.
var signatureParams = [...]string{"signature", "sig", "awsaccesskeyid", "googleaccessid", "key-pair-id", "access_token"}

// secretParams name other parameters that often hold a secret. They are hidden, but may be stored.
var secretParams = [...]string{"token", "apikey", "api_key", "api-key", "key", "secret", "password", "passwd", "auth", "credential", "policy", "jwt"}

// Presigned returns the name of the first query parameter of a URL that signs it, "" if there is
// none.
func Presigned(uri string) string {
	_, query, _ := strings.Cut(uri, "?")
	for part := range strings.FieldsFuncSeq(query, isParamEnd) {
		name, _, _ := strings.Cut(part, "=")
		if signs(name) {
			return name
		}
	}
	return ""
}

// HasUserInfo reports whether a web address names a user or a password before its host.
func HasUserInfo(uri string) bool {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found || scheme != "http" && scheme != "https" {
		return false
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.Contains(rest, "@")
}

func isParamEnd(r rune) bool { return r == '&' || r == ';' || r == '#' }

func signs(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-goog-") {
		return true
	}
	for _, s := range signatureParams {
		if name == s {
			return true
		}
	}
	return false
}

// RedactURL returns a URL as errors may show it: without a name and password before its host, and
// without the values of query parameters that may be secret.
func RedactURL(uri string) string {
	head, query, found := strings.Cut(uri, "?")
	if scheme, rest, ok := strings.Cut(head, "://"); ok && (scheme == "http" || scheme == "https") {
		host, after, slash := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = hidden + host[at:]
		}
		head = scheme + "://" + host
		if slash {
			head += "/" + after
		}
	}
	if !found {
		return head
	}
	if !strings.HasPrefix(head, "http://") && !strings.HasPrefix(head, "https://") {
		return head + "?" + query // a "?" in the name of an object or a file
	}
	var out strings.Builder
	out.WriteString(head)
	out.WriteByte('?')
	for len(query) > 0 {
		part, end := query, ""
		if i := strings.IndexFunc(query, isParamEnd); i >= 0 {
			part, end = query[:i], query[i:i+1]
		}
		query = query[len(part)+len(end):]
		if name, value, ok := strings.Cut(part, "="); ok && value != "" && hides(name) {
			part = name + "=" + hidden
		}
		out.WriteString(part)
		out.WriteString(end)
	}
	return out.String()
}

// SecretValues calls fn for the values of the parameters of a query that may be secret, as the
// query writes them and decoded.
func SecretValues(query string, fn func(value string)) {
	for part := range strings.FieldsFuncSeq(query, isParamEnd) {
		name, value, _ := strings.Cut(part, "=")
		if value == "" || !hides(name) {
			continue
		}
		fn(value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			fn(plain)
		}
	}
}

func hides(name string) bool {
	if signs(name) {
		return true
	}
	name = strings.ToLower(name)
	for _, s := range secretParams {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}
