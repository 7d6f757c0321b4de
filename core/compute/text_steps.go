package compute

import (
	"strings"
	"unicode/utf8"

	"deeplake/core/array"
)

// textChunk is the number of bytes of a text that are examined without a look at the caller.
const textChunk = 1 << 15

// chunkEnd returns where a piece of s ends: after textChunk bytes, but within no character.
func chunkEnd(s string) int {
	if len(s) <= textChunk {
		return len(s)
	}
	for end := textChunk; end > textChunk-utf8.UTFMax; end-- {
		if utf8.RuneStart(s[end]) {
			return end
		}
	}
	return textChunk
}

// chunks calls do for the pieces of s until it returns false. It reports whether all were done.
func chunks(w *array.Work, s string, do func(piece string) bool) bool {
	for len(s) > 0 {
		end := chunkEnd(s)
		if !w.Step(1+end) || !do(s[:end]) {
			return false
		}
		s = s[end:]
	}
	return true
}

// indexText is strings.Index.
func indexText(w *array.Work, s, part string) int {
	chunk := max(textChunk, len(part))
	for from := 0; ; from += chunk {
		end := min(len(s), from+chunk+len(part))
		if !w.Step(1 + end - from) {
			return -1
		}
		if i := strings.Index(s[from:end], part); i >= 0 {
			return from + i
		}
		if end == len(s) {
			return -1
		}
	}
}

// countRunes is utf8.RuneCountInString.
func countRunes(w *array.Work, s string) (n int) {
	chunks(w, s, func(piece string) bool {
		n += utf8.RuneCountInString(piece)
		return true
	})
	return n
}

// skipRunes returns the bytes of the first n characters of s, of all if there are fewer.
func skipRunes(w *array.Work, s string, n int64) (size int) {
	chunks(w, s, func(piece string) bool {
		if k := int64(utf8.RuneCountInString(piece)); k <= n {
			n -= k
			size += len(piece)
			return true
		}
		for i := range piece {
			if n == 0 {
				size += i
				break
			}
			n--
		}
		return false
	})
	return size
}

// mapText is convert of a text, piece by piece.
func mapText(w *array.Work, s string, convert func(string) string) string {
	if len(s) <= textChunk {
		w.Step(len(s))
		out := convert(s)
		w.Reserve(int64(len(out)))
		return out
	}
	if !w.Reserve(int64(len(s))) {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s))
	chunks(w, s, func(piece string) bool {
		piece = convert(piece)
		return grow(w, &b, len(piece)) && put(&b, piece)
	})
	return b.String()
}

// grow makes room for n more bytes after their memory is reserved.
func grow(w *array.Work, b *strings.Builder, n int) bool {
	if b.Len()+n <= b.Cap() {
		return true
	}
	old := int64(b.Cap())
	if !w.Reserve(2*old + int64(n)) { // as much as Grow allocates
		return false
	}
	b.Grow(n)
	w.Return(old)
	return true
}

func put(b *strings.Builder, s string) bool {
	b.WriteString(s)
	return true
}

// replaceText is strings.ReplaceAll of a part that is not empty.
func replaceText(w *array.Work, s, part, with string) any {
	n := countText(w, s, part)
	size := int64(len(s)) + int64(n)*int64(len(with)-len(part))
	switch {
	case n == 0:
		return s
	case size > array.MaxRow:
		return nil
	case !w.Reserve(size):
		return ""
	}
	var b strings.Builder
	b.Grow(int(size))
	for {
		i := indexText(w, s, part)
		if i < 0 || w.Err() != nil {
			break
		}
		b.WriteString(s[:i])
		b.WriteString(with)
		s = s[i+len(part):]
		if !w.Step(len(with)) {
			break
		}
	}
	b.WriteString(s)
	return b.String()
}

// countText counts a part, which is not empty, as strings.Count does.
func countText(w *array.Work, s, part string) (n int) {
	for {
		i := indexText(w, s, part)
		if i < 0 {
			return n
		}
		n++
		s = s[i+len(part):]
	}
}

// splitText is strings.Split. Without a separator each character is a part.
func splitText(w *array.Work, s, separator string) []string {
	n := 0
	if separator == "" {
		n = countRunes(w, s)
	} else {
		n = countText(w, s, separator) + 1
	}
	if !w.Reserve(int64(n) * array.TextBytes) {
		return nil
	}
	out := make([]string, 0, n)
	for separator == "" && len(s) > 0 && w.Step(1) {
		_, size := utf8.DecodeRuneInString(s)
		out, s = append(out, s[:size]), s[size:]
	}
	for separator != "" {
		i := indexText(w, s, separator)
		if i < 0 {
			return append(out, s)
		}
		out, s = append(out, s[:i]), s[i+len(separator):]
	}
	return out
}

// backwards returns the characters of s from the last to the first.
func backwards(w *array.Work, s string) string {
	if !w.Reserve(3 * int64(len(s))) { // a byte that is no character becomes one of three
		return ""
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 && w.Step(1) {
		r, size := utf8.DecodeLastRuneInString(s)
		b.WriteRune(r)
		s = s[:len(s)-size]
	}
	return b.String()
}

// trimmed cuts the characters of set off the ends of s.
func trimmed(w *array.Work, s, set string, left, right bool) string {
	var low [utf8.RuneSelf]bool
	var others map[rune]bool
	chunks(w, set, func(piece string) bool {
		for _, r := range piece {
			if r < utf8.RuneSelf {
				low[r] = true
				continue
			}
			if others == nil {
				others = map[rune]bool{}
			}
			others[r] = true
		}
		return len(others) < 1<<21
	})
	in := func(r rune) bool { return r < utf8.RuneSelf && low[r] || r >= utf8.RuneSelf && others[r] }
	for left && len(s) > 0 && w.Step(1) {
		r, size := utf8.DecodeRuneInString(s)
		if !in(r) {
			break
		}
		s = s[size:]
	}
	for right && len(s) > 0 && w.Step(1) {
		r, size := utf8.DecodeLastRuneInString(s)
		if !in(r) {
			break
		}
		s = s[:len(s)-size]
	}
	return s
}

// pad adds spaces until there are count characters; of more it returns the first count.
func pad(w *array.Work, s string, count int64, left bool) any {
	size := int64(countRunes(w, s))
	switch {
	case count > array.MaxRow:
		return nil
	case size >= count:
		return s[:skipRunes(w, s, max(count, 0))]
	case !w.Reserve(int64(len(s)) + count - size):
		return ""
	}
	var b strings.Builder
	b.Grow(len(s) + int(count-size))
	if !left {
		b.WriteString(s)
	}
	for more := count - size; more > 0 && w.Step(len(spaces)); more -= int64(len(spaces)) {
		b.WriteString(spaces[:min(more, int64(len(spaces)))])
	}
	if left {
		b.WriteString(s)
	}
	return b.String()
}

var spaces = strings.Repeat(" ", 4096)

// repeatText is strings.Repeat.
func repeatText(w *array.Work, s string, count int64) any {
	switch {
	case count <= 0 || s == "":
		return ""
	case count > array.MaxRow/int64(len(s)):
		return nil
	case !w.Reserve(int64(len(s)) * count):
		return ""
	}
	var b strings.Builder
	b.Grow(len(s) * int(count))
	// several at once, so that short texts are copied fast
	many := min(count, max(1, textChunk/int64(len(s))))
	piece := strings.Repeat(s, int(many))
	for ; count >= many && w.Step(len(piece)/16); count -= many {
		b.WriteString(piece)
	}
	b.WriteString(piece[:len(s)*int(min(count, many))])
	return b.String()
}

// levenshtein counts the characters that have to change to make a of b.
func levenshtein(w *array.Work, x, y string) int64 {
	if !w.Reserve(4*int64(len(x)) + 12*int64(len(y)) + 8) {
		return 0
	}
	a, b := runes(w, x), runes(w, y)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for from := 0; from < len(b); from += array.Block {
			end := min(len(b), from+array.Block)
			if !w.Step(end - from) {
				return 0
			}
			for j, r := range b[from:end] {
				j += from
				cost := diagonal
				if a[i] != r {
					cost++
				}
				diagonal = row[j+1]
				row[j+1] = min(cost, row[j]+1, row[j+1]+1)
			}
		}
		if !w.Step(1) {
			return 0
		}
	}
	return int64(row[len(b)])
}

// runes returns the characters of s, of which there are at most len(s).
func runes(w *array.Work, s string) []rune {
	out := make([]rune, 0, len(s))
	chunks(w, s, func(piece string) bool {
		for _, r := range piece {
			out = append(out, r)
		}
		return true
	})
	return out
}
