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

// RecordPrefix is the prefix of all commit records of a branch; listed, the newest record comes first.
func RecordPrefix(branch UUID) string { return RecordsPrefix() + branch.String() + "/" }

// RecordKey is where commit record number version of a branch lies.
func RecordKey(branch UUID, version uint64) string {
	return fmt.Sprintf("%s%020d", RecordPrefix(branch), math.MaxUint64-version)
}

// ParseRecordKey is the inverse of RecordKey. Any other key is errs.Corrupt, since only a listing yields keys.
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

// MapKey is where a page lies: leaf, inner, side, bitmap or schema.
func MapKey(u UUID) string { return "map/" + u.String() }

// TxnKey is where a transaction summary lies that was too large for its record.
func TxnKey(u UUID) string { return "txn/" + u.String() }

// DataPrefix is the prefix of all chunks of a session.
func DataPrefix(session UUID) string { return "data/" + session.String() + "/" }

// DataKey is where chunk number ordinal (>= 0) of a session lies.
func DataKey(session UUID, ordinal int64) string {
	return DataPrefix(session) + strconv.FormatInt(ordinal, 10)
}
