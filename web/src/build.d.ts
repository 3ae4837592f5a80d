declare const REPORT: boolean; /* build.mjs makes the app twice */
