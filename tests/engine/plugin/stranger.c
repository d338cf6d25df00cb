/* stranger.c: a shared object that is no plugin. */
int stranger_open(void);

int stranger_open(void) {
    return 0;
}
