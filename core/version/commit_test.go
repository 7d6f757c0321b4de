package version

import (
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

func bitmap() *roaring64.Bitmap { return roaring64.New() }

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
