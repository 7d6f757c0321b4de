// Package names resolves the URIs under which users know datasets: names like deeplake://org/name,
// paths, and addresses of stores. It owns the configuration file, DEEPLAKE_ROOTS and the default
// folder of names.
//
// It reads the configuration and lists the folder of names. It opens no dataset and knows no store.
package names
