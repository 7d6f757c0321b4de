// Package peer tells which account of this machine has opened a TCP connection to this process. It
// reads the tables of the system and opens no connection.
package peer
