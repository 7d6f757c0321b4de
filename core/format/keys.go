package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

// TSFKey is the key of the object whose existence makes the dataset exist.
func TSFKey() string { return "tsf.json" }

// RecordsPrefix is the prefix of the commit records of all branches.
func RecordsPrefix() string { return "log/" }

// RecordPrefix is the prefix of all commit records of a branch; listed, the newest record comes
// first.
func RecordPrefix(branch UUID) string { return RecordsPrefix() + branch.String() + "/" }

// RecordKey is where commit record number version of a branch lies.
func RecordKey(branch UUID, version uint64) string {
	return fmt.Sprintf("%s%020d", RecordPrefix(branch), math.MaxUint64-version)
}

// ParseRecordKey is the inverse of RecordKey. Any other key is errs.Corrupt, since only a listing
// yields keys.
func ParseRecordKey(key string) (branch UUID, version uint64, err error) {
	id, digits, ok := strings.Cut(strings.TrimPrefix(key, RecordsPrefix()), "/")
	if !ok || !strings.HasPrefix(key, RecordsPrefix()) || len(digits) != 20 {
		return UUID{}, 0, errs.New(errs.Corrupt, "key %q is not that of a commit record", clip(key))
	}
	branch, err = ParseUUID(id)
	if err != nil {
		return UUID{}, 0, errs.New(errs.Corrupt, "key %q is not that of a commit record: %w", clip(key), err)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return UUID{}, 0, errs.New(errs.Corrupt, "key %q is not that of a commit record: %w", clip(key), err)
	}
	return branch, math.MaxUint64 - n, nil
}

const (
	mapPrefix  = "map/"
	txnPrefix  = "txn/"
	dataPrefix = "data/"
)

// MapKey is where a page lies: leaf, inner, side, bitmap or schema.
func MapKey(u UUID) string { return mapPrefix + u.String() }

// TxnKey is where a transaction summary lies that was too large for its record.
func TxnKey(u UUID) string { return txnPrefix + u.String() }

// DataPrefix is the prefix of all chunks of a session.
func DataPrefix(session UUID) string { return dataPrefix + session.String() + "/" }

// DataKey is where chunk number ordinal (>= 0) of a session lies.
func DataKey(session UUID, ordinal int64) string {
	return DataPrefix(session) + strconv.FormatInt(ordinal, 10)
}

// ParseDataKey is the inverse of DataKey. Any other key is errs.Corrupt.
func ParseDataKey(key string) (session UUID, ordinal int64, err error) {
	id, digits, _ := strings.Cut(strings.TrimPrefix(key, dataPrefix), "/")
	if session, err = ParseUUID(id); err == nil {
		ordinal, err = strconv.ParseInt(digits, 10, 64)
	}
	if err != nil || ordinal < 0 || DataKey(session, ordinal) != key {
		return UUID{}, 0, errs.New(errs.Corrupt, "key %q is not that of a chunk", clip(key))
	}
	return session, ordinal, nil
}

// Prefixes are the folders of a dataset, the ones with names of branches, tags and views first.
func Prefixes() []string {
	return []string{refsPrefix, viewsPrefix, RecordsPrefix(), hintPrefix, mapPrefix, txnPrefix, dataPrefix, leasePrefix}
}

// OurKey reports whether an object of this format may lie under key. A file of another owner
// that lies in a folder of the dataset is none, and must not be removed.
func OurKey(key string) bool {
	at := strings.IndexByte(key, '/') + 1
	prefix, rest := key[:at], key[at:]
	var err error
	switch prefix {
	case "":
		return key == TSFKey()
	case mapPrefix, txnPrefix, hintPrefix:
		_, err = ParseUUID(rest)
	case dataPrefix:
		_, _, err = ParseDataKey(key)
	case RecordsPrefix():
		_, _, err = ParseRecordKey(key)
	case viewsPrefix:
		_, _, err = ParseViewKey(key)
	case refsPrefix:
		return ourRef(key)
	case leasePrefix:
		_, _, err = ParseLeaseKey(key)
	default:
		return false
	}
	return err == nil
}

// Litter reports whether key is of a file that file browsers and network disks leave in any folder.
func Litter(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case strings.HasPrefix(part, "."), part == "@eaDir", part == "Thumbs.db", part == "desktop.ini":
			return true
		}
	}
	return false
}

func ourRef(key string) bool {
	var err error
	switch {
	case strings.HasPrefix(key, headsPrefix):
		_, _, err = ParseHeadKey(key)
	case strings.HasPrefix(key, tagsPrefix):
		_, _, err = ParseTagKey(key)
	default:
		_, err = ParseExpiryKey(key)
	}
	return err == nil
}

// NamePrefixes are the folders whose keys are names that a user gave: an object of another dataset
// there stands in the way of this one's.
func NamePrefixes() []string { return []string{refsPrefix, viewsPrefix} }
