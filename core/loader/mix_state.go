package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Identity names the rows of a mixture: digests of those of its views, in order.
func (m *Mix) Identity() (dataset, commit, selection string, err error) {
	var sums [3]strings.Builder
	committed := true
	for _, p := range m.parts {
		d, c, s, err := identityOf(p.Source)
		if err != nil {
			return "", "", "", err
		}
		committed = committed && c != ""
		for i, text := range []string{d, c, s} {
			sums[i].WriteString(strconv.Quote(text))
		}
	}
	digest := func(i int) string {
		sum := sha256.Sum256([]byte(sums[i].String()))
		return "mix-" + hex.EncodeToString(sum[:16])
	}
	if committed {
		commit = digest(1)
	}
	return digest(0), commit, digest(2), nil
}
