package format

import "fmt"

const hintPrefix = "hint/"

// HintKey is where a version of a branch is noted that is not far from its head.
func HintKey(branch UUID) string { return hintPrefix + branch.String() }

// EncodeHint makes the object. It cannot fail.
func EncodeHint(version uint64) []byte {
	return sealJSON(fmt.Appendf(nil, `{"version":%d,`, version))
}

// DecodeHint is the strict inverse of EncodeHint. Whether there is such a commit is another
// question.
func DecodeHint(data []byte) (version uint64, err error) {
	m, err := openSealed("hint", data)
	if err == nil {
		m.value("version", &version)
		err = m.end()
	}
	if err != nil {
		return 0, damaged("hint", err)
	}
	return version, nil
}
