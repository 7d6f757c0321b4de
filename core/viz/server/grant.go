package server

import (
	"crypto/sha256"
	"sync"
	"time"

	"deeplake/core/errs"
)

// A player of the browser sends no token with its requests. So a page that has the token gets an
// address for one video: a grant of 256 random bits, which is the token for that file alone.

// grant is the file that an address stands for.
type grant struct {
	view, column string
	row          int64
	media, name  string
	size         int64
	used         time.Time
}

const (
	// grantLife ends an address that no request has used for so long. Pages get another one.
	grantLife = 10 * time.Minute
	// mostGrants are valid. For another one, the one that was used longest ago is forgotten.
	mostGrants = 256
)

// grants are the valid ones, by their digests: how long a search takes tells nothing of the texts.
// The zero value has none.
type grants struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*grant
}

// give returns the text of a new grant.
func (g *grants) give(of grant, now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[[sha256.Size]byte]*grant{}
	}
	if len(g.all) >= mostGrants {
		g.forget()
	}
	text := secret()
	of.used = now
	g.all[sha256.Sum256([]byte(text))] = &of
	return text
}

// forget drops the grant that was used longest ago. The lock is held.
func (g *grants) forget() {
	var oldest [sha256.Size]byte
	var found *grant
	for key, one := range g.all {
		if found == nil || one.used.Before(found.used) {
			oldest, found = key, one
		}
	}
	delete(g.all, oldest)
}

// use returns the file of a grant.
func (g *grants) use(text string, now time.Time) (grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := sha256.Sum256([]byte(text))
	one := g.all[key]
	if one == nil || now.Sub(one.used) > grantLife {
		delete(g.all, key)
		return grant{}, errs.Op("read video", "").New(errs.Denied, "its address is of another server, or was not used for %v; open the row again", grantLife)
	}
	one.used = now
	return *one, nil
}
