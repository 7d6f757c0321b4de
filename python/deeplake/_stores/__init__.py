"""Where datasets lie: settings of stores, and URIs."""
