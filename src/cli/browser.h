/*
 * browser: opens the user's browser.
 */
#ifndef MEMTAPE_CLI_BROWSER_H
#define MEMTAPE_CLI_BROWSER_H

/* Does not wait; if it fails to open, the URL can still be copied. Without a display stderr says so. */
void browser_open(const char *url);

#endif
