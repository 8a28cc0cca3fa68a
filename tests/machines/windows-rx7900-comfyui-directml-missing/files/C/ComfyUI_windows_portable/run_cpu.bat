.\python_embeded\python.exe -s ComfyUI\main.py --cpu --windows-standalone-build
pause
