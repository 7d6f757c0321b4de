/* Starts threads that wait to be sent. */
void start(void);

/* Makes each thread call Go once, and then stay away from Go until they are fetched. */
void send(void);

/* Fetches the threads. The thread that has sent them must call it. */
void fetch(void);
